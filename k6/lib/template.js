// Templates of the application file (docs/applications.md), compiled once a virtual user: into a value, where it is the
// same in every request, or else into JavaScript, so that a request costs no more than if it were written by hand.
// wirebench/model/template.py renders them alike.

const PLACEHOLDER = /\{([a-z_][a-zA-Z0-9_]*)(?:\|([a-z]+))?\}/g;
const WHOLE = new RegExp(`^${PLACEHOLDER.source}$`);

const FORMS = {
  upper: (value) => value.toUpperCase(),
  lower: (value) => value.toLowerCase(),
  length: sizeOf,
};

// sizeOf returns how many characters a text has, items a list, or fields a mapping; nothing of what has no size.
export function sizeOf(value) {
  if (typeof value === 'string') {
    return [...value].length;
  }
  return value !== null && typeof value === 'object' ? Object.keys(value).length : undefined;
}

// compile returns a template as {value}, if it is the same for all requests, or as {render}, a function of the inputs.
// `known` are the inputs that are the same for all. `encode` is applied to what stands in a text for a placeholder.
export function compile(template, known, encode) {
  const constants = [];
  const { code, value } = translate(template, { known, encode, constants });
  if (code === undefined) {
    return { value };
  }
  return { render: new Function('forms', 'encode', 'constants', `return (inputs) => (${code})`)(FORMS, encode, constants) };
}

// compileTarget returns path and query of a request; parameters whose value is null for all requests are left out.
export function compileTarget(target, known) {
  const [path, query = ''] = target.split('?');
  const given = query.split('&').filter((pair) => pair !== '' && compile(pair.split('=')[1], known).value !== null);
  return compile(given.length > 0 ? `${path}?${given.join('&')}` : path, known, encodeURIComponent);
}

export const isConstant = ({ render }) => render === undefined;

export const resolve = ({ value, render }, inputs) => (render === undefined ? value : render(inputs));

// map applies a function to what a template becomes: now, if that is the same for all requests.
export function map({ value, render }, change) {
  return render === undefined ? { value: change(value) } : { render: (inputs) => change(render(inputs)) };
}

// fixed returns a compiled template as a function of the inputs.
export const fixed = ({ value, render }) => render || (() => value);

// translate returns {value}, or the {code} of an expression in which `inputs` has the inputs.
function translate(template, scope) {
  if (typeof template === 'string') {
    return translateText(template, scope);
  }
  if (template === null || typeof template !== 'object') {
    return { value: template };
  }
  const isList = Array.isArray(template);
  const parts = Object.keys(template)
    .map((key) => ({ key, part: translate(template[key], scope) }))
    // Keys of null are left out.
    .filter(({ part }) => part.code !== undefined || (part.value !== null && part.value !== undefined));
  if (parts.every(({ part }) => part.code === undefined)) {
    const made = Object.fromEntries(parts.map(({ key, part }) => [key, part.value]));
    return { value: isList ? Object.values(made) : made };
  }
  const codes = parts.map(({ key, part }) => (isList ? '' : `${JSON.stringify(key)}:`) + codeOf(part, scope));
  return { code: isList ? `[${codes}]` : `{${codes}}` };
}

function translateText(template, scope) {
  const whole = WHOLE.exec(template);
  if (whole && !scope.encode) {
    return placeholder(whole, scope);
  }
  // Literal texts, placeholders between them; neighbours that are the same for all requests are joined.
  const texts = [''];
  const codes = [];
  let from = 0;
  for (const match of template.matchAll(PLACEHOLDER)) {
    texts[codes.length] += template.slice(from, match.index);
    const { code, value } = placeholder(match, scope);
    if (code === undefined) {
      texts[codes.length] += scope.encode ? scope.encode(value) : value;
    } else {
      codes.push(scope.encode ? `encode(${code})` : code);
      texts.push('');
    }
    from = match.index + match[0].length;
  }
  texts[codes.length] += template.slice(from);
  if (codes.length === 0) {
    return { value: texts[0] };
  }
  const joined = codes.map((code, at) => code + (texts[at + 1] === '' ? '' : `+${codeOf({ value: texts[at + 1] }, scope)}`));
  return { code: [codeOf({ value: texts[0] }, scope), ...joined].join('+') };
}

function placeholder([, name, form], { known }) {
  if (name in known) {
    return { value: FORMS[form] ? FORMS[form](known[name]) : known[name] };
  }
  return { code: FORMS[form] ? `forms.${form}(inputs.${name})` : `inputs.${name}` };
}

function codeOf({ code, value }, { constants }) {
  return code === undefined ? `constants[${constants.push(value) - 1}]` : code;
}
