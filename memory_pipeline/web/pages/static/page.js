// Keys for whoever wants them; everything can be reached without. Not while something is typed, and never with
// Ctrl, Alt or Meta, which belong to the browser.
"use strict";

const STEPS = { j: 1, k: -1 };

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.isComposing || event.repeat && !(event.key in STEPS)) {
    return;
  }
  if (event.target.closest("input:not([type=checkbox]), textarea, select")) {
    return;
  }
  if (event.key in STEPS) {
    step(STEPS[event.key]) && event.preventDefault();
    return;
  }
  const wanted = [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === event.key);
  if (wanted) {
    event.preventDefault();
    wanted.focus();
    if (wanted.localName === "button") {
      wanted.click();
    }
  }
});

// Through the rows of a list; where there is none, to the next or the previous page.
function step(by) {
  const rows = [...document.querySelectorAll("[data-row]")];
  const link = document.querySelector(by > 0 ? "a[rel=next]" : "a[rel=prev]");
  const at = rows.indexOf(document.activeElement);
  if (rows.length) {
    rows[at < 0 ? 0 : Math.min(Math.max(at + by, 0), rows.length - 1)].focus();
  } else if (link) {
    link.click();
  }
  return rows.length > 0 || link !== null;
}
