'use strict';
const data = JSON.parse(document.getElementById('choices').textContent);
const state = { gpu: 'h100', model: 'llama-3-8b', kv_cache_dtype: 'auto' };
function element(tag, text, className) {
  const node = document.createElement(tag);
  if (text !== undefined) node.textContent = text;
  if (className) node.className = className;
  return node;
}
function addButtons(title, key, names) {
  const row = element('div', undefined, 'row');
  row.append(element('b', title));
  for (const name of names) {
    const button = element('button', name);
    button.onclick = () => { state[key] = name; update(); };
    button.dataset.key = key;
    row.append(button);
  }
  document.getElementById('chooser').append(row);
}
function layerOf(answer) {
  const layer = element('div');
  layer.append(element('p', answer.kind + ': ' + (answer.selected
    ? answer.selected + ', blocks of ' + answer.block_size : 'nobody'), 'selected'));
  const list = element('ol');
  for (const name of answer.candidates) {
    const item = element('li', name);
    const reasons = answer.invalid[name];
    item.append(element('span', reasons ? ' — ' + reasons.join('; ') : ' — valid', 'reasons'));
    list.append(item);
  }
  layer.append(list);
  return layer;
}
function update() {
  for (const button of document.querySelectorAll('#chooser button')) {
    button.className = state[button.dataset.key] === button.textContent ? 'chosen' : '';
  }
  const capability = data.gpus[state.gpu];
  const answer = document.getElementById('answer');
  answer.replaceChildren(element('p', state.model + ' (' + data.models[state.model] + '), ' +
    data.dtypes[capability] + ', cache ' + state.kv_cache_dtype + ', on ' + state.gpu + ' (capability ' + capability + '):'));
  for (const index of data.choices[capability][state.model][state.kv_cache_dtype]) {
    answer.append(layerOf(data.answers[index]));
  }
}
if (data) {
  addButtons('GPU', 'gpu', Object.keys(data.gpus));
  addButtons('model', 'model', Object.keys(data.models));
  addButtons('cache', 'kv_cache_dtype', data.kv_cache_dtypes);
  update();
} else {
  document.getElementById('chooser').textContent = 'The empty page: pagelab backends --html fills it.';
}

// What a search sees of a row: every cell by itself and behind its column, "sink=yes".
function searchedText(row) {
  const columns = row.closest('table').tHead.rows[0].cells;
  const cells = Array.from(row.cells, (cell, index) =>
    columns[index].textContent.replaceAll(' ', '-') + '=' + cell.textContent);
  return (row.textContent + ' ' + cells.join(' ')).toLowerCase();
}
document.getElementById('search').oninput = (event) => {
  const words = event.target.value.toLowerCase().split(/\s+/);
  for (const row of document.querySelectorAll('tbody tr')) {
    row.hidden = !words.every((word) => searchedText(row).includes(word));
  }
};
for (const head of document.querySelectorAll('th')) {
  head.onclick = () => {
    const column = head.cellIndex, body = head.closest('table').tBodies[0];
    const direction = head.dataset.direction === '1' ? -1 : 1;
    head.dataset.direction = direction;
    const rows = Array.from(body.rows);
    rows.sort((a, b) => direction * a.cells[column].textContent.localeCompare(
      b.cells[column].textContent, 'en', { numeric: true }));
    body.append(...rows);
  };
}
