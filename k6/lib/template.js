// Templates of the application file (docs/applications.md), compiled once a virtual user: what is the same in every
// request is computed then, and a request costs joining texts. wirebench/model/template.py renders them alike.

const PLACEHOLDER = /\{([a-z_][a-z0-9_]*)(?:\|([a-z]+))?\}/g;
const WHOLE = /^\{([a-z_][a-z0-9_]*)(?:\|([a-z]+))?\}$/;

const FORMS = {
  upper: (value) => value.toUpperCase(),
  lower: (value) => value.toLowerCase(),
  length: (value) => value.length,
};

// compile returns a template as {value}, if it is the same for all requests, or as {render}, a function of the inputs.
// `known` are the inputs that are the same for all.
export function compile(template, known) {
  if (typeof template === 'string') {
    return compileText(template, known);
  }
  if (Array.isArray(template)) {
    const items = template.map((each) => compile(each, known));
    return items.every(isConstant) ? { value: items.map(({ value }) => value) } : { render: (inputs) => items.map((each) => resolve(each, inputs)) };
  }
  return template !== null && typeof template === 'object' ? compileObject(template, known) : { value: template };
}

export const isConstant = (compiled) => compiled.render === undefined;

export const resolve = (compiled, inputs) => (compiled.render === undefined ? compiled.value : compiled.render(inputs));

// map applies a function to what a template becomes: now, if that is the same for all requests.
export function map({ value, render }, change) {
  return render === undefined ? { value: change(value) } : { render: (inputs) => change(render(inputs)) };
}

// fixed returns a compiled template as a function of the inputs.
export const fixed = ({ value, render }) => render || (() => value);

// compileText joins a text's parts, with `encode` applied to what placeholders stand for.
export function compileText(template, known, encode = String) {
  const whole = encode === String && WHOLE.exec(template);
  if (whole) {
    return input(whole[1], whole[2], known);
  }
  // Literal texts and inputs in turn; neighbours that are the same for all requests are joined.
  const texts = [''];
  const inputs = [];
  let from = 0;
  for (const match of template.matchAll(PLACEHOLDER)) {
    texts[inputs.length] += template.slice(from, match.index);
    const part = input(match[1], match[2], known);
    if (isConstant(part)) {
      texts[inputs.length] += encode(part.value);
    } else {
      inputs.push(part.render);
      texts.push('');
    }
    from = match.index + match[0].length;
  }
  texts[inputs.length] += template.slice(from);
  const [first, second] = texts;
  if (inputs.length === 0) {
    return { value: first };
  }
  const [only] = inputs;
  if (inputs.length === 1) {
    return { render: (values) => first + encode(only(values)) + second };
  }
  return { render: (values) => inputs.reduce((text, part, at) => text + encode(part(values)) + texts[at + 1], first) };
}

// compileTarget returns path and query of a request; parameters whose value is null for all requests are left out.
export function compileTarget(target, known) {
  const [path, query = ''] = target.split('?');
  const given = query.split('&').filter((pair) => pair !== '' && resolve(compile(pair.split('=')[1], known), {}) !== null);
  return compileText(given.length > 0 ? `${path}?${given.join('&')}` : path, known, encodeURIComponent);
}

function input(name, form, known) {
  const change = FORMS[form];
  const part = name in known ? { value: known[name] } : { render: (inputs) => inputs[name] };
  return change ? map(part, change) : part;
}

// Keys of null are left out.
function compileObject(template, known) {
  const parts = Object.entries(template)
    .map(([name, inner]) => ({ name, inner: compile(inner, known) }))
    .filter(({ inner }) => !isConstant(inner) || (inner.value !== null && inner.value !== undefined));
  const build = (inputs) => {
    const made = {};
    for (const { name, inner } of parts) {
      made[name] = resolve(inner, inputs);
    }
    return made;
  };
  return parts.every(({ inner }) => isConstant(inner)) ? { value: build() } : { render: build };
}
