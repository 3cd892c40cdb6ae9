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

// A part of a page that is marked as live is read again every two seconds, until its button pauses it, the window is hidden or nobody is
// signed in any more. What has left the table since, and what has come, is listed below it, the latest first.
const EVERY = 2000;
const MOST_CHANGES = 20;

function rowsOf(part) {
  return new Map([...part.querySelectorAll("[data-item]")].map((row) => [row.dataset.item, row.querySelector("a").textContent]));
}

function note(list, word, text) {
  const line = document.createElement("li");
  const what = document.createElement("bdi");
  what.textContent = text;
  line.append(`${new Date().toLocaleTimeString()} ${word}: `, what);
  list.prepend(line);
  while (list.children.length > MOST_CHANGES) list.lastChild.remove();
}

function watch(part) {
  const controls = document.createElement("p");
  const button = document.createElement("button");
  const state = document.createElement("span");
  const changes = document.createElement("ul");
  button.type = "button";
  button.className = "quiet";
  button.textContent = "Pause";
  state.setAttribute("role", "status");
  state.className = "hint";
  changes.className = "changes";
  changes.setAttribute("aria-label", "What has changed while you look");
  controls.append(button, " ", state);
  part.before(controls);
  part.after(changes);
  let paused = false;
  button.addEventListener("click", () => {
    paused = !paused;
    button.textContent = paused ? "Go on" : "Pause";
    state.textContent = paused ? "Paused." : "";
  });
  const again = async () => {
    if (!paused && !document.hidden && !part.contains(document.activeElement)) {
      let answer;
      try {
        answer = await fetch(location.href, { redirect: "manual" });
      } catch {
        state.textContent = "The server does not answer. Trying again.";
      }
      if (answer && answer.status === 200) {
        const page = new DOMParser().parseFromString(await answer.text(), "text/html");
        const fresh = page.querySelector("[data-live]");
        if (fresh && !paused) {
          const [before, after] = [rowsOf(part), rowsOf(fresh)];
          for (const [id, text] of before) if (!after.has(id)) note(changes, "left", text);
          for (const [id, text] of after) if (!before.has(id)) note(changes, "came", text);
          if (fresh.innerHTML !== part.innerHTML) {
            part.replaceChildren(...document.adoptNode(fresh).childNodes);
            state.textContent = part.querySelector("h2").textContent;
          }
        }
      } else if (answer && answer.status !== 429 && answer.status < 500) {
        state.textContent = "You are signed out: this is no longer live.";
        button.remove();
        return;
      }
    }
    setTimeout(again, EVERY);
  };
  setTimeout(again, EVERY);
}

document.querySelectorAll("[data-live]").forEach(watch);

// Two sliders hide the points of a map that lie outside of a time. Without scripts the form above does so.
const time = document.querySelector("[data-time]");
if (time) {
  const points = [...document.querySelectorAll("[data-at]")].map((point) => [Number(point.dataset.at), point]);
  const moments = points.map(([at]) => at);
  const [since, till] = time.querySelectorAll("input");
  const [first, last] = time.querySelectorAll("output");
  const day = (input) => new Date(1000 * Number(input.value)).toLocaleDateString("sv");
  const narrow = () => {
    first.textContent = day(since);
    last.textContent = day(till);
    const [low, high] = [Number(since.value), Number(till.value)];
    for (const [at, point] of points) point.classList.toggle("outside", at < low || at > high);
  };
  const [least, most] = [moments.reduce((a, b) => Math.min(a, b), Infinity), moments.reduce((a, b) => Math.max(a, b), -Infinity)];
  if (least < most) {
    for (const input of [since, till]) {
      [input.min, input.max, input.step] = [least, most, Math.max(1, Math.floor((most - least) / 500))];
      input.addEventListener("input", () => requestAnimationFrame(narrow));
    }
    since.value = least;
    till.max = most + Number(till.step);
    till.value = till.max;
    time.hidden = false;
    narrow();
  }
}
