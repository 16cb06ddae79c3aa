// What requests of REST have in common, whether one reply or a stream answers them.

const JSON_TYPE = 'application/json';

// mediaTypes returns the headers of a request that accepts a media type; a body that is no text is of the type `encoded`.
export function mediaTypes(accept, body, encoded = JSON_TYPE) {
  if (body === null) {
    return { Accept: accept };
  }
  return { Accept: accept, 'Content-Type': typeof body === 'string' ? 'text/plain; charset=utf-8' : encoded };
}

// encodeBody returns what is sent for a body: a text as it is, anything else as JSON.
export const encodeBody = (body) => (body === null || typeof body === 'string' ? body : JSON.stringify(body));
