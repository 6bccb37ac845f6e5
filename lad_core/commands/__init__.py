"""The commands of ``python -m lad_core``, one module each: ``add`` declares flags, ``run`` works."""
