"use strict";
// Cells of a map are read out where they are pointed at, and by the arrow keys.
for (const map of document.querySelectorAll("svg.map")) {
  const readout = map.parentElement.querySelector(".readout");
  const cells = Array.from(map.querySelectorAll("rect.c"));
  const at = (cell) => [Number(cell.getAttribute("x")), Number(cell.getAttribute("y"))];
  const steps = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};
  let chosen = null;

  const choose = (cell) => {
    if (chosen) chosen.classList.remove("on");
    chosen = cell;
    chosen.classList.add("on");
    readout.textContent = cell.querySelector("title").textContent;
  };

  // The nearest cell that way: between panels there are gaps.
  const next = ([dx, dy]) => {
    const [x, y] = at(chosen);
    let best = null;
    let nearest = Infinity;
    for (const cell of cells) {
      const [cx, cy] = at(cell);
      const ahead = (cx - x) * dx + (cy - y) * dy;
      const aside = Math.abs((cx - x) * dy) + Math.abs((cy - y) * dx);
      const distance = ahead + 64 * aside;
      if (ahead > 0 ? nearest > distance : false) {
        best = cell;
        nearest = distance;
      }
    }
    return best;
  };

  map.addEventListener("keydown", (event) => {
    if (!(event.key in steps)) return;
    event.preventDefault();
    const cell = chosen ? next(steps[event.key]) : cells[0];
    if (cell) choose(cell);
  });
  map.addEventListener("focus", () => { if (!chosen) choose(cells[0]); });
  map.addEventListener("pointerover", (event) => {
    const cell = event.target.closest("rect.c");
    if (cell) choose(cell);
  });
}
