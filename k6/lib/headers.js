// Headers of REST and metadata of gRPC (docs/applications.md), compiled once a virtual user.

import load from 'k6/x/wirebench/load';
import { compile, isConstant, resolve } from './template.js';

// `${NAME}`: an environment variable. Our module reads it, as __ENV is empty: values never stand in arguments.
const VARIABLE = /\$\{([A-Z_][A-Z0-9_]*)\}/;

// checkVariables throws if the environment doesn't have all that headers name.
export function checkVariables(headers) {
  Object.values(headers || {}).forEach((text) => compileText(text, {}));
}

// compileHeaders returns {constant, vary}: the headers that all requests have, and a function of the inputs that returns the
// others, undefined where there are none.
export function compileHeaders(headers, known) {
  const compiled = Object.entries(headers || {}).map(([name, text]) => ({ name, text: compileText(text, known) }));
  const varying = compiled.filter(({ text }) => !isConstant(text));
  const resolved = (some, inputs) => Object.fromEntries(some.map(({ name, text }) => [name, resolve(text, inputs)]));
  return {
    constant: resolved(compiled.filter(({ text }) => isConstant(text))),
    vary: varying.length > 0 ? (inputs) => resolved(varying, inputs) : undefined,
  };
}

// override returns headers without those that others have, in any case.
export function override(headers, others) {
  const names = Object.keys(others || {}).map((name) => name.toLowerCase());
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !names.includes(name.toLowerCase())));
}

// Values of variables are taken literally.
function compileText(text, known) {
  const parts = text.split(VARIABLE).map((part, at) => (at % 2 === 0 ? compile(part, known, String) : { value: load.variable(part) }));
  const join = (inputs) => parts.map((part) => resolve(part, inputs)).join('');
  return parts.every(isConstant) ? { value: join() } : { render: join };
}
