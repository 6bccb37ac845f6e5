// A click or Enter on a picture selects its seat; a picture can be dragged to another seat.
const seatOf = (event) => event.target.closest?.("[data-seat]")?.dataset.seat;
let dragged = null;

element.addEventListener("click", (event) => {
  const seat = seatOf(event);
  if (seat !== undefined) trigger("seat_select", { seat: Number(seat) });
});
element.addEventListener("dragstart", (event) => {
  dragged = seatOf(event) ?? null;
});
element.addEventListener("dragover", (event) => {
  if (dragged !== null && seatOf(event) !== undefined) event.preventDefault();
});
element.addEventListener("drop", (event) => {
  const to = seatOf(event);
  if (dragged === null || to === undefined) return;
  event.preventDefault();
  if (to !== dragged) trigger("seat_move", { seat: Number(dragged), to: Number(to) });
});
element.addEventListener("dragend", () => {
  dragged = null;
});
