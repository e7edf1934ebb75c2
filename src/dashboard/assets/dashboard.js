// What pages do beyond plain HTML: times and numbers in the reader's locale, countdowns, live parts, dropped files,
// and selection of rows. Every page works without it.
"use strict";
(() => {
  const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "medium" });
  const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "long" });
  const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto", style: "short" });
  const numbers = new Intl.NumberFormat();
  const axes = {
    hour: new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }),
    day: new Intl.DateTimeFormat(undefined, { month: "short", day: "numeric" }),
    minute: new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" }),
  };

  // The clock of the daemon may differ from the browser's: `data-now` says what it was when the page was made.
  let ahead = 0;
  const readClock = (root) => {
    const given = root.querySelector("[data-now]");
    if (given) ahead = Date.parse(given.dataset.now) - Date.now();
  };
  const now = () => Date.now() + ahead;

  const inWords = (seconds) => {
    const steps = [[60, "second", 1], [3600, "minute", 60], [86400, "hour", 3600], [Infinity, "day", 86400]];
    const size = Math.abs(seconds);
    const [, unit, length] = steps.find(([limit]) => size < limit);
    return relative.format(Math.trunc(seconds / length), unit);
  };
  const clock = (seconds) => {
    const whole = Math.max(0, Math.round(seconds));
    const parts = [Math.floor(whole / 3600), Math.floor(whole / 60) % 60, whole % 60];
    const text = parts.map((part) => String(part).padStart(2, "0"));
    return parts[0] ? text.join(":") : text.slice(1).join(":");
  };

  const localize = (root) => {
    for (const element of root.querySelectorAll("time[data-time]")) {
      const at = new Date(element.dateTime);
      if (Number.isNaN(at.getTime())) continue;
      element.title = `${exact.format(at)} (${element.dateTime})`;
      if (element.dataset.time === "full") element.textContent = day.format(at);
    }
    for (const element of root.querySelectorAll("[data-at]")) {
      element.textContent = axes[element.dataset.form].format(new Date(element.dataset.at));
    }
    for (const element of root.querySelectorAll("data[value]")) {
      element.textContent = numbers.format(Number(element.value));
    }
    tick(root);
  };
  const tick = (root) => {
    for (const element of root.querySelectorAll("time[data-time=relative], time[data-time=countdown]")) {
      const seconds = (Date.parse(element.dateTime) - now()) / 1000;
      const text = element.dataset.time === "relative" ? inWords(seconds) : seconds > 0 ? clock(seconds) : "now";
      if (element.textContent !== text) element.textContent = text;
    }
  };

  // Live parts: every element with `data-live` and an id is replaced when the page, loaded again, has another one.
  const url = document.body.dataset.liveUrl;
  const label = document.getElementById("live-state");
  const button = document.getElementById("live-pause");
  const seen = new Map();
  const FOCUSABLE = "a[href], button, summary, [tabindex]", SCROLLS = ".scroll, .timeline, pre";
  let source = null, isPaused = false, isLoading = false, isWaiting = false;

  const isBusy = () => {
    const selection = document.getSelection();
    if (selection && !selection.isCollapsed) return "a selection";
    if (document.querySelector("[data-live] input[type=checkbox]:checked")) return "chosen rows";
    const active = document.activeElement;
    if (active && active.closest("[data-live]") && active.matches("input, select, textarea")) return "an open field";
    if (document.querySelector("[data-live] audio, [data-live] video")) return "a player";
    if (document.querySelector("[data-live]:hover") && matchMedia("(hover: hover)").matches && Date.now() - moved < 4000) {
      return "the pointer";
    }
    return null;
  };
  let moved = 0;
  document.addEventListener("pointermove", () => { moved = Date.now(); }, { passive: true });

  const show = () => {
    if (!label) return;
    const busy = isWaiting && isBusy();
    label.hidden = button.hidden = false;
    label.classList.toggle("paused", isPaused || Boolean(busy));
    label.textContent = isPaused ? "paused" : busy ? `waiting for ${busy}` : source ? "live" : "not connected";
    button.textContent = isPaused ? "Resume updates" : "Pause updates";
  };
  const refresh = async () => {
    if (isPaused || isLoading || document.hidden) return;
    isWaiting = true;
    if (isBusy()) return show();
    isLoading = true;
    try {
      const answer = await fetch(location.href, { headers: { "X-Live": "1" }, credentials: "same-origin" });
      if (answer.status === 401) return location.reload();
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (isBusy()) return;
      readClock(page);
      for (const fresh of page.querySelectorAll("[data-live][id]")) {
        const text = fresh.outerHTML, old = document.getElementById(fresh.id);
        if (!old || seen.get(fresh.id) === text) continue;
        seen.set(fresh.id, text);
        const open = [...old.querySelectorAll("details[open][id]")].map((details) => details.id);
        const next = document.adoptNode(fresh);
        for (const id of open) next.querySelector(`#${CSS.escape(id)}`)?.setAttribute("open", "");
        const scrolled = [...old.querySelectorAll(SCROLLS)].map((area) => [area.scrollLeft, area.scrollTop]);
        const places = [...old.querySelectorAll(FOCUSABLE)];
        const focused = places.indexOf(document.activeElement);
        const own = (element) => `${element.getAttribute("href")} ${element.textContent}`;
        const name = focused < 0 ? "" : own(places[focused]);
        old.replaceWith(next);
        localize(next);
        prepare(next);
        [...next.querySelectorAll(SCROLLS)].forEach((area, place) => {
          [area.scrollLeft, area.scrollTop] = scrolled[place] ?? [area.scrollLeft, area.scrollTop];
        });
        if (focused >= 0) {
          const after = [...next.querySelectorAll(FOCUSABLE)];
          (after.find((element) => own(element) === name) ?? after[focused])?.focus({ preventScroll: true });
        }
      }
      isWaiting = false;
    } catch {
      // The stream tells when the daemon is back.
    } finally {
      isLoading = false;
      show();
    }
  };
  const connect = () => {
    if (!url || source || document.hidden) return;
    source = new EventSource(url);
    source.addEventListener("begin", () => { show(); });
    source.addEventListener("change", refresh);
    source.addEventListener("end", () => { disconnect(); location.reload(); });
    source.addEventListener("error", () => {
      if (label) { label.textContent = "not connected"; label.classList.add("paused"); }
    });
  };
  const disconnect = () => { source?.close(); source = null; };
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) return disconnect();
    connect();
    refresh();
  });
  addEventListener("pagehide", disconnect);
  addEventListener("pageshow", connect);
  button?.addEventListener("click", () => { isPaused = !isPaused; show(); refresh(); });

  // Lists: one box chooses all rows of the page, and the button says how many.
  const prepare = (root) => {
    for (const all of root.querySelectorAll("input[data-all]")) {
      const form = all.closest("form");
      const boxes = () => [...form.querySelectorAll(`input[name="${all.dataset.all}"]`)];
      all.hidden = false;
      const count = () => {
        const chosen = boxes().filter((box) => box.checked).length;
        all.checked = chosen > 0 && chosen === boxes().length;
        all.indeterminate = chosen > 0 && !all.checked;
        const text = form.querySelector("[data-chosen]");
        if (text) text.textContent = `${numbers.format(chosen)} chosen`;
      };
      all.addEventListener("change", () => { for (const box of boxes()) box.checked = all.checked; count(); });
      form.addEventListener("change", count);
    }
    for (const area of root.querySelectorAll(".drop")) {
      const input = area.querySelector("input[type=file]");
      const stop = (event) => { event.preventDefault(); };
      for (const name of ["dragenter", "dragover"]) {
        area.addEventListener(name, (event) => { stop(event); area.classList.add("over"); });
      }
      for (const name of ["dragleave", "drop"]) area.addEventListener(name, () => area.classList.remove("over"));
      area.addEventListener("drop", (event) => {
        stop(event);
        if (!event.dataTransfer.files.length) return;
        input.files = event.dataTransfer.files;
        area.closest("form").requestSubmit();
      });
    }
    for (const element of root.querySelectorAll("[data-reload-after]")) {
      setTimeout(() => location.reload(), Number(element.dataset.reloadAfter));
    }
    for (const form of root.querySelectorAll("form[data-once]")) {
      form.addEventListener("submit", () => {
        for (const button of form.querySelectorAll("button")) setTimeout(() => { button.disabled = true; });
      });
    }
  };

  // What the last action did is said once: not again after a reload, and not in a bookmark.
  const address = new URL(location.href);
  if (address.searchParams.has("notice")) {
    address.searchParams.delete("notice");
    history.replaceState(null, "", address);
  }

  readClock(document);
  localize(document);
  prepare(document);
  setInterval(() => tick(document), 1000);
  connect();
  show();
})();
