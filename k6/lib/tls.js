// TLS, the same for all three transports: what k6 is configured with, which all its clients and ours go by.

import load from 'k6/x/wirebench/load';

// secureOptions returns the k6 options for the client's own certificate; the key stays in this process.
export function secureOptions({ tls }) {
  if (tls === null) {
    return {};
  }
  return {
    tlsVersion: { min: 'tls1.2', max: 'tls1.3' },
    ...(tls.cert === '' ? {} : { tlsAuth: [{ cert: tls.cert, key: tls.key }] }),
  };
}

// secured returns the settings, after it has told k6 whom the virtual user trusts: before its first connection.
export function secured(settings) {
  if (settings.tls !== null) {
    load.secure(settings.tls.ca);
  }
  return settings;
}
