// What makes the pages quicker to use. All of them work without it.
"use strict";

document.addEventListener("keydown", (event) => {
  const typing = event.target.closest("input, textarea, select");
  if (event.key !== "/" || typing || event.ctrlKey || event.metaKey || event.altKey) return;
  const field = document.querySelector("main input:not([type=hidden]):not([type=checkbox])");
  if (field) {
    event.preventDefault();
    field.focus();
    field.select();
  }
});

for (const text of document.querySelectorAll(".given pre")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } catch {
      button.textContent = "Select the text to copy it";
    }
    setTimeout(() => { button.textContent = "Copy"; }, 2000);
  });
  text.before(button);
}

if (document.querySelector("[data-again]")) setTimeout(() => location.reload(), 1500);
