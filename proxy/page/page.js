// Brings the parts of the page that change, while nobody has paused it. The HTML is the server's own, with every name
// escaped there; without this script the page shows the same and is loaded anew by hand.
"use strict";
const live = document.getElementById("live");
const button = document.getElementById("pause");
const state = document.getElementById("state");
let source = null;

function put(html) {
  const focus = document.activeElement && document.activeElement.id;
  const open = new Set([...live.querySelectorAll("details[open]")].map((one) => one.id));
  live.innerHTML = html;
  for (const id of open) {
    const one = document.getElementById(id);
    if (one) one.open = true;
  }
  const again = focus && live.querySelector("#" + CSS.escape(focus));
  if (again) again.focus();
}

function start() {
  source = new EventSource("/-/events" + location.search);
  source.onopen = () => { state.textContent = "live"; };
  source.onmessage = (event) => put(JSON.parse(event.data).html);
  source.onerror = () => { state.textContent = "not connected; trying again"; };
  button.textContent = "Pause";
  button.setAttribute("aria-pressed", "false");
}

function stop() {
  source.close();
  source = null;
  state.textContent = "paused";
  button.textContent = "Go on";
  button.setAttribute("aria-pressed", "true");
}

button.hidden = false;
button.addEventListener("click", () => (source ? stop() : start()));
start();
