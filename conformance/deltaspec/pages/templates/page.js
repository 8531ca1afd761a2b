"use strict";
// Texts come from tables and engines: they are only ever set as text, never as markup.
document.documentElement.classList.add("scripted");

const all = (selector, root = document) => [...root.querySelectorAll(selector)];

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  const code = button.parentElement.querySelector("code");
  try {
    await navigator.clipboard.writeText(code.textContent);
    button.textContent = "Copied";
  } catch {
    getSelection().selectAllChildren(code); // files have no clipboard in some browsers
    button.textContent = "Selected";
  }
});
