// How the reader moves from step to step, and what the page says of a block or a token.
"use strict";
let timer = null;
function go(index) {
  at = Math.max(0, Math.min(steps.length - 1, index));
  history.replaceState(null, "", "#step=" + steps[at].n);
  draw();
}
function play() {
  if (timer) { clearInterval(timer); timer = null; el("play").textContent = "▶ play"; return; }
  el("play").textContent = "❚❚ stop";
  timer = setInterval(() => { if (at === steps.length - 1) play(); else go(at + 1); }, 350);
}
function pointAt(canvas, event, side, columns) {
  const box = canvas.getBoundingClientRect();
  const column = Math.floor((event.clientX - box.left) / side);
  return column < columns ? Math.floor((event.clientY - box.top) / side) * columns + column : -1;
}
function tip(event, text) {
  const box = el("tip");
  box.style.display = text ? "block" : "none";
  if (!text) return;
  box.textContent = text;
  box.style.left = Math.min(event.clientX + 14, innerWidth - 300) + "px"; box.style.top = event.clientY + 14 + "px";
}
const inGroup = each => groups.length > 1 ? `, group ${each}` : "";
function aboutBlock(block) {
  if (!(block >= 0 && block < numShown())) return "";
  if (block === 0) return "block 0: the null block, never handed out";
  const holders = [];
  for (const [id, tables] of state.tables) tables.forEach((table, each) => {
    const place = table.indexOf(block), size = groups[each].block_size;
    if (place >= 0) holders.push(`request ${id}${inGroup(each)}, logical block ${place} (tokens ${place * size} to ${(place + 1) * size - 1})`);
  });
  const blockSize = groups[state.group[block]].block_size;
  const what = state.refs[block] > 0 ? `used by ${state.refs[block]}` : state.keyed[block] ? `free, still cached; last of request ${state.owner[block]}` : "free";
  const more = holders.length > 8 ? `\n… and ${holders.length - 8} more` : "";
  return `block ${block}: ${what}${state.keyed[block] ? ", has a key" : ""}\nslots ${block * blockSize} to ${(block + 1) * blockSize - 1}\n${holders.slice(0, 8).join("\n")}${more}`;
}
function aboutToken(token) {
  const step = steps[at], slots = slotsOf(step), tokens = tokensOf(step);
  if (!(token >= 0 && token < slots.length)) return "";
  if (token >= tokens.length) return `token ${token}: padding, slot −1: stored nowhere`;
  const [id, position] = tokens[token], slot = slots[token], blockSize = groups[group].block_size;
  const logical = Math.floor(position / blockSize), block = tablesOf(id)[group][logical];
  return `token ${token} of the batch: request ${id}${inGroup(group)}, position ${position}\nslot ${slot} = block_table[${logical}] · ${blockSize} + ${position % blockSize} = ${block} · ${blockSize} + ${position % blockSize}`;
}
if (!RUN) {
  el("summary").textContent = "This is the empty page. `pagelab simulate TRACE --html FILE` fills it with a run.";
} else {
  state = emptyState();
  el("title").textContent = RUN.title; document.title = RUN.title;
  el("summary").textContent = RUN.summary;
  el("slider").max = steps.length - 1;
  el("number").min = steps[0].n; el("number").max = steps[steps.length - 1].n;
  el("slider").oninput = event => go(+event.target.value);
  el("number").onchange = event => go(+event.target.value - steps[0].n);
  el("first").onclick = () => go(0); el("last").onclick = () => go(steps.length - 1);
  el("back").onclick = () => go(at - 1); el("next").onclick = () => go(at + 1); el("play").onclick = play;
  el("larger").onclick = () => { zoom *= 1.5; draw(); }; el("smaller").onclick = () => { zoom /= 1.5; draw(); };
  groups.forEach((spec, each) => el("group").add(new Option(nameOf(each), each)));
  el("group").onchange = event => { group = +event.target.value; draw(); };
  el("tint").onclick = () => { byGroup = !byGroup; draw(); };
  el("extent").onclick = () => { showsAll = !showsAll; draw(); };
  el("overview").onclick = event => go(Math.floor(event.offsetX / el("overview").clientWidth * steps.length));
  el("pool").onmousemove = event => tip(event, aboutBlock(pointAt(el("pool"), event, poolGrid.side, poolGrid.columns)));
  el("batch").onmousemove = event => tip(event, aboutToken(pointAt(el("batch"), event, batchGrid.side, batchGrid.columns)));
  el("pool").onmouseleave = el("batch").onmouseleave = event => tip(event, "");
  el("pool").onclick = event => {
    const block = pointAt(el("pool"), event, poolGrid.side, poolGrid.columns);
    const owner = block > 0 && block < numBlocks && state.refs[block] > 0 ? state.owner[block] : null;
    chosen = chosen === owner ? null : owner; draw();
  };
  addEventListener("keydown", event => {
    if (event.target.tagName === "SELECT" || event.target.type === "number") return;
    const moves = { ArrowLeft: -1, ArrowRight: 1, PageUp: -10, PageDown: 10, Home: -steps.length, End: steps.length };
    if (event.key in moves) { event.preventDefault(); go(at + moves[event.key]); }
    if (event.key === " ") { event.preventDefault(); play(); }
  });
  addEventListener("resize", draw);
  const wanted = /step=(\d+)/.exec(location.hash);
  go(wanted ? +wanted[1] - steps[0].n : 0);
}
