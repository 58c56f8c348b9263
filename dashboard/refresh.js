"use strict";
const main = document.querySelector("main"), stale = document.getElementById("stale");
let shown = "";
async function refresh() {
  try {
    const reply = await fetch("api/overview", {cache: "no-store", signal: AbortSignal.timeout(5000)});
    const {overview, html} = await reply.json();
    if (html !== shown && !String(getSelection())) {
      main.innerHTML = shown = html; // escaped by the server, as the page was
    }
    document.title = (overview.level === "ok" ? "" : "(" + overview.level + ") ") + "zlink " + overview.instance;
    stale.hidden = true;
  } catch {
    stale.hidden = false;
  }
  setTimeout(refresh, document.hidden ? 15000 : 3000);
}
setTimeout(refresh, 3000);
