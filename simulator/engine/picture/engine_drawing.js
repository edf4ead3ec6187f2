// What the page shows of the current step.
"use strict";
const MODE_COLOUR = { FULL: "#2e8b57", PIECEWISE: "#d9902f", NONE: "#8a5a9e" };
const KIND = ["", "admitted", "resumed"];
const MOST_CHIPS = 24;
const el = id => document.getElementById(id);
const hue = request => (request * 137.508) % 360;
const colour = request => `hsl(${hue(request)},60%,52%)`;
const hueOfGroup = group => (210 + group * 137.508) % 360;
const nameOf = group => `group ${group}: ` + (groups[group].window === null ? "all keys" : `window of ${groups[group].window}`) +
  `, blocks of ${groups[group].block_size}`;

let at = 0;         // index into steps
let zoom = 1;
let chosen = null;  // request whose blocks are shown alone
let showsAll = false;  // also the blocks that no step uses
let group = 0;          // the cache group whose slots the flat batch shows
let byGroup = false;    // the pool's colours: by group, not by request
let poolGrid = null, batchGrid = null;

// "1 token", "2 tokens".
function counted(count, what) { return `${count} ${what}${count === 1 ? "" : "s"}`; }
function sized(canvas, width, height) {
  const ratio = window.devicePixelRatio || 1;
  canvas.style.width = width + "px"; canvas.style.height = height + "px";
  canvas.width = Math.max(1, Math.round(width * ratio)); canvas.height = Math.max(1, Math.round(height * ratio));
  const pen = canvas.getContext("2d");
  pen.setTransform(ratio, 0, 0, ratio, 0, 0);
  pen.clearRect(0, 0, width, height);
  return pen;
}
function gridFor(count, width, height, most, least) {
  let side = Math.max(least, Math.min(most, Math.floor(Math.sqrt(width * height / Math.max(count, 1)))));
  while (side > least && Math.ceil(count / Math.max(1, Math.floor(width / side))) * side > height) --side;
  return { side, columns: Math.max(1, Math.floor(width / side)) };
}
function slotsOf(step, ofGroup = group) {
  const slots = [];
  for (const [start, count] of step.s[ofGroup]) for (let i = 0; i < count; ++i) slots.push(start < 0 ? -1 : start + i);
  return slots;
}
function tablesOf(request) { return state.tables.get(request) || groups.map(() => []); }
// The prefix of a cascade, which there is only where all layers are alike.
function prefixBlocks(step) {
  const set = new Set();
  if (step.c > 0 && step.r.length > 0) {
    const [table] = tablesOf(step.r[0][0]);
    for (let i = 0; i < step.c / groups[0].block_size; ++i) set.add(table[i]);
  }
  return set;
}
function blockColour(block, isFaded) {
  const tint = byGroup ? hueOfGroup(state.group[block]) : hue(state.owner[block]);
  if (state.refs[block] === 0) return state.keyed[block] ? `hsl(${tint},45%,${isFaded ? 92 : 82}%)` : "#e9ebee";
  if (isFaded) return "#cfd3d9";
  return `hsl(${tint},60%,${state.refs[block] > 1 && poolGrid.side < 8 ? 30 : 52}%)`;
}
function numShown() { return showsAll ? numBlocks : Math.min(numBlocks, numTouched); }
function drawPool(step) {
  const width = el("pool-scroll").clientWidth - 18;
  const count = numShown();
  const grid = gridFor(count, width, 520, 44, 2);
  grid.side = Math.max(2, Math.round(grid.side * zoom));
  grid.columns = Math.max(1, Math.floor(width / grid.side));
  poolGrid = grid;
  const side = grid.side, gap = side >= 8 ? 1 : 0;
  const pen = sized(el("pool"), grid.columns * side, Math.ceil(count / grid.columns) * side);
  const written = new Set(groups.flatMap((spec, each) =>
    slotsOf(step, each).filter(slot => slot >= 0).map(slot => Math.floor(slot / spec.block_size))));
  const prefix = prefixBlocks(step);
  const own = chosen !== null ? new Set(tablesOf(chosen).flat()) : null;
  for (let block = 0; block < count; ++block) {
    const x = block % grid.columns * side, y = Math.floor(block / grid.columns) * side, size = side - gap;
    pen.fillStyle = block === 0 ? "#555" : blockColour(block, own !== null && !own.has(block));
    pen.fillRect(x, y, size, size);
    if (block === 0) { if (side >= 22) label(pen, "null", x, y, size, "#fff"); continue; }
    if (side >= 8) {
      if (state.keyed[block] && state.refs[block] > 0) {
        pen.fillStyle = "#fff";
        pen.beginPath(); pen.moveTo(x + size * .62, y); pen.lineTo(x + size, y); pen.lineTo(x + size, y + size * .38); pen.fill();
      }
      if (written.has(block)) { pen.fillStyle = "#000"; pen.fillRect(x, y + size * .8, size, size * .2); }
    }
    const isPrefix = prefix.has(block);
    if (isPrefix || (state.refs[block] > 1 && side >= 8)) {
      pen.strokeStyle = isPrefix ? "#e0322c" : "#222";
      pen.lineWidth = Math.max(1, side / 12);
      pen.strokeRect(x + pen.lineWidth / 2, y + pen.lineWidth / 2, size - pen.lineWidth, size - pen.lineWidth);
    }
    if (side >= 22) label(pen, state.refs[block] > 1 ? `${block}×${state.refs[block]}` : block, x, y, size,
                          state.refs[block] > 0 ? "#fff" : "#556");
  }
}
function label(pen, text, x, y, size, ink) {
  pen.fillStyle = ink; pen.textAlign = "center"; pen.textBaseline = "middle";
  pen.font = `${Math.max(7, Math.min(12, size / 3))}px system-ui, sans-serif`;
  pen.fillText(text, x + size / 2, y + size / 2, size - 4);
}
// [token] → its request and position; padding has none.
function tokensOf(step) {
  const tokens = [];
  for (const [id, computed, count] of step.r) for (let i = 0; i < count; ++i) tokens.push([id, computed + i]);
  return tokens;
}
function drawBatch(step) {
  const tokens = tokensOf(step), slots = slotsOf(step);
  const width = el("batch").parentElement.clientWidth - 18;
  batchGrid = gridFor(slots.length, width, 200, 46, 4);
  const { side, columns } = batchGrid, gap = side >= 8 ? 1 : 0;
  const pen = sized(el("batch"), columns * side, Math.max(side, Math.ceil(slots.length / columns) * side));
  slots.forEach((slot, token) => {
    const x = token % columns * side, y = Math.floor(token / columns) * side, size = side - gap;
    const request = token < tokens.length ? tokens[token][0] : null;
    pen.fillStyle = request === null ? "#f0f1f3" : chosen !== null && chosen !== request ? "#cfd3d9" : colour(request);
    pen.fillRect(x, y, size, size);
    if (side >= 26) label(pen, slot, x, y, size, request === null ? "#99a" : "#fff");
  });
  el("batch-size").textContent =
    `${counted(tokens.length, "token")} of ${counted(step.r.length, "request")}, padded to ${slots.length}; in each the slot that it is written to`;
}
function drawRows(step) {
  const prefix = prefixBlocks(step);
  const body = el("rows");
  body.textContent = "";
  for (const [id, computed, count, prompt, hit, kind] of step.r) {
    const row = body.insertRow();
    if (id === chosen) row.className = "chosen";
    const does = (KIND[kind] ? KIND[kind] + (hit ? `, ${hit} cached` : "") + ": " : "") +
      (count === 1 && computed >= prompt - 1 ? "decode" : computed + count < prompt ? "prefill chunk" : "prefill");
    row.insertCell().className = "left";
    row.cells[0].innerHTML = `<span class="swatch" style="background:${colour(id)}"></span>${id}`;
    row.insertCell().className = "left"; row.cells[1].textContent = does;
    for (const number of [computed, count, computed + count]) row.insertCell().textContent = number;
    const cell = row.insertCell(); cell.className = "left blocks";
    tablesOf(id).forEach((table, each) => {
      const line = cell.appendChild(document.createElement("div"));
      if (groups.length > 1) {
        line.title = nameOf(each);
        line.innerHTML = `<em style="border-left:.5rem solid hsl(${hueOfGroup(each)},60%,52%)">${each}</em>`;
      }
      line.appendChild(chipsOf(table, prefix, id === chosen));
    });
    row.onclick = () => { chosen = chosen === id ? null : id; draw(); };
  }
}
function chipsOf(table, prefix, all) {
  const list = document.createDocumentFragment();
  const half = MOST_CHIPS / 2;
  table.forEach((block, index) => {
    if (!all && table.length > MOST_CHIPS && index >= half && index < table.length - half) {
      if (index === half) {
        const more = document.createElement("em"); more.textContent = `… ${table.length - MOST_CHIPS} more …`; list.appendChild(more);
      }
      return;
    }
    const chip = document.createElement("span");
    chip.textContent = block === 0 ? "–" : block;
    chip.style.background = block === 0 ? "#b9bec6" : blockColour(block, false);
    if (block === 0) chip.title = "outside of the window: dropped";
    if (prefix.has(block)) chip.className = "prefix";
    else if (state.refs[block] > 1) chip.className = "shared";
    list.appendChild(chip);
  });
  return list;
}
function chip(name, value, style = "") { return `<span class="chip" style="${style}">${name} <b>${value}</b></span>`; }
function drawFacts(step) {
  let cached = 0, shared = 0;
  for (let block = 1; block < numBlocks; ++block) {
    if (state.keyed[block] && state.refs[block] === 0) ++cached;
    if (state.refs[block] > 1) ++shared;
  }
  const list = ids => ids.length > 6 ? ids.slice(0, 6).join(", ") + ", …" : ids.join(", ");
  const admitted = step.r.filter(row => row[5] === 1).map(row => row[0]), resumed = step.r.filter(row => row[5] === 2).map(row => row[0]);
  const decodes = step.r.filter(row => row[2] === 1).length;
  el("facts").innerHTML =
    `<span class="chip mode" style="background:${MODE_COLOUR[step.g]}">CUDA graph: <b>${step.g}</b>, ${step.p} tokens</span>` +
    chip("cascade", step.c > 0 ? `prefix of ${step.c} tokens, read once` : "no", step.c > 0 ? "border-color:#e0322c;color:#e0322c" : "") +
    chip("requests", `${step.r.length}`) + chip("of one token", decodes) +
    chip("waiting", step.w) + chip("blocks in use", `${step.u} of ${numBlocks - 1}`) + chip("shared", shared) + chip("free, cached", cached) +
    (admitted.length ? chip("admitted", list(admitted)) : "") + (resumed.length ? chip("resumed", list(resumed)) : "") +
    (step.v.length ? chip("preempted", list(step.v), "background:#fde9e7") : "") + (step.x.length ? chip("finished", list(step.x)) : "");
}
function drawTimes() {
  const canvas = el("times"), width = el("times-box").clientWidth - 34, pen = sized(canvas, width, 86);
  const from = Math.max(0, at - 3), to = Math.min(steps.length - 1, from + 7);
  const start = steps[from].t[0], scale = (width - 60) / Math.max(1e-9, steps[to].t[4] - start);
  const bar = (t0, t1, y, fill, text, isNow) => {
    const x = 50 + (t0 - start) * scale, w = Math.max(1, (t1 - t0) * scale);
    pen.fillStyle = fill; pen.fillRect(x, y, w, 26);
    if (isNow) { pen.strokeStyle = "#000"; pen.lineWidth = 2; pen.strokeRect(x, y, w, 26); }
    if (w > 24) { pen.fillStyle = "#fff"; pen.font = "11px system-ui"; pen.textAlign = "center"; pen.textBaseline = "middle"; pen.fillText(text, x + w / 2, y + 13, w - 4); }
  };
  pen.fillStyle = "#667"; pen.font = "12px system-ui"; pen.textBaseline = "middle"; pen.textAlign = "left";
  pen.fillText("CPU", 10, 22); pen.fillText("GPU", 10, 62);
  for (let index = from; index <= to; ++index) {
    const step = steps[index], t = step.t;
    bar(t[0], t[1], 9, "#3a6fb0", step.n, index === at); bar(t[1], t[2], 9, "#6fb7c9", "", index === at);
    bar(t[3], t[4], 49, MODE_COLOUR[step.g], `${step.n} ${step.g}`, index === at);
  }
  const ms = us => (us / 1000).toFixed(2) + " ms", t = steps[at].t;
  el("times-text").textContent = `step ${steps[at].n} at ${(t[0] / 1e6).toFixed(3)} s: schedule ${ms(t[1] - t[0])}, arrays ${ms(t[2] - t[1])}, GPU ${ms(t[4] - t[3])}`;
}
function drawOverview() {
  const width = el("overview-box").clientWidth - 34, height = 54, pen = sized(el("overview"), width, height);
  const each = width / steps.length, most = Math.max(...steps.map(step => step.p));
  steps.forEach((step, index) => {
    const x = index * each, w = Math.max(1, each);
    pen.fillStyle = "#dfe6f0"; const used = step.u / (numBlocks - 1) * 44; pen.fillRect(x, 44 - used, w, used);
    pen.fillStyle = "#7a8da8"; const tokens = Math.log2(1 + step.p) / Math.log2(1 + most) * 44; pen.fillRect(x, 44 - tokens, w, 1.5);
    pen.fillStyle = MODE_COLOUR[step.g]; pen.fillRect(x, 46, w, 8);
    if (step.c > 0) { pen.fillStyle = "#e0322c"; pen.fillRect(x, 44, w, 2); }
  });
  pen.strokeStyle = "#000"; pen.lineWidth = 1; pen.strokeRect(at * each - .5, .5, Math.max(2, each), height - 1);
  el("overview").title = "area: blocks in use; line: tokens of the step (log); below: graph mode, red where cascade";
}
function draw() {
  seek(at);
  const step = steps[at];
  el("slider").value = at; el("number").value = step.n;
  el("of").textContent = `of ${RUN.num_steps}` + (steps.length < RUN.num_steps ? ` (here: ${steps[0].n} to ${steps[steps.length - 1].n})` : "");
  const unused = numBlocks - numShown();
  el("pool-size").textContent = `${numBlocks} blocks of ${[...new Set(groups.map(spec => spec.block_size))].join(" or ")} tokens` + (unused > 0 ? `, the last ${unused} of them never used here` : "");
  el("extent").textContent = showsAll ? "show used ones" : "show all";
  el("extent").hidden = numTouched >= numBlocks;
  el("group").hidden = el("tint").hidden = groups.length === 1;
  el("group").value = group;
  el("tint").textContent = byGroup ? "colour by request" : "colour by group";
  el("whose").textContent = byGroup ? "group" : "request";
  drawOverview(); drawFacts(step); drawPool(step); drawBatch(step); drawRows(step); drawTimes();
}
