// TLS, the same for all three transports: what k6 is configured with, which all its clients and ours go by.

import load from 'k6/x/wirebench/load';

// secured returns the settings, after it has told k6 whom the virtual user trusts: before its first connection.
export function secured(settings) {
  if (settings.tls !== null) {
    load.secure(settings.tls.ca);
  }
  return settings;
}
