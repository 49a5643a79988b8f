// Keys on the timeline, a word while a search runs and when the server is gone. Without this script everything still
// works by mouse and Tab.
"use strict";
(() => {
  const typing = (at) => at && (at.isContentEditable || /^(INPUT|SELECT|TEXTAREA)$/.test(at.tagName) && at.type !== "checkbox");
  const rows = () => Array.from(document.querySelectorAll("#entries li.entry"));
  let current = null;
  const go = (step) => {
    const all = rows();
    if (!all.length) return;
    const now = current && current.isConnected ? all.indexOf(current) : -1;
    const next = all[Math.min(all.length - 1, Math.max(0, now + step))];
    if (current) current.classList.remove("at");
    current = next;
    current.classList.add("at");
    const link = current.querySelector(".what a");
    if (link) link.focus({ preventScroll: true });
    current.scrollIntoView({ block: "nearest" });
  };
  const keys = {
    j: () => go(1),
    k: () => go(-1),
    x: () => { const box = current && current.querySelector(".pick input"); if (box) box.click(); },
    u: () => { const link = current && current.querySelector(".deeds a[data-key='u']"); if (link) link.click(); },
    "/": () => { const field = document.querySelector("[role=search] input[type=search]"); if (field) field.focus(); },
    "?": () => { const help = document.getElementById("keys"); if (help) help.open = !help.open; },
  };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || typing(event.target)) return;
    const act = Object.hasOwn(keys, event.key) && document.getElementById("entries") ? keys[event.key] : null;
    if (!act) return;
    event.preventDefault();
    act();
  });
  const wait = (busy) => {
    const list = document.getElementById("entries");
    const said = document.getElementById("searching");
    if (list) list.setAttribute("aria-busy", busy);
    if (said) said.hidden = !busy;
  };
  document.addEventListener("submit", (event) => { if (event.target.matches("[role=search]")) wait(true); });
  window.addEventListener("pageshow", () => wait(false));
  const tell = (gone) => { const said = document.getElementById("offline"); if (said) said.hidden = !gone; };
  document.addEventListener("htmx:sse:error", () => tell(true));
  document.addEventListener("htmx:sse:after:connection", () => tell(false));
})();
