import type { ServiceFetch } from '../../activities/clients/service-client.js';
import type { Caller } from '../../api/plugins/app.js';
import type { Service } from '../../api/plugins/service.js';
import { unwatched } from './bare-service.js';

/** What a service is opened with where the proxy is its only caller and no certificate is asked for. */
export const calledByProxy = () => ({
  ...unwatched(),
  trustDomain: 'gate.local',
  resolveCaller: (): Caller => ({
    kind: 'service',
    spiffe: 'spiffe://gate.local/service/proxy',
    callerId: 'service-proxy',
    fingerprint: 'cd'.repeat(32),
  }),
});

/** The client's requests, handed to the service that `current` gives without a socket. */
export const overTheService =
  (current: () => Service): ServiceFetch =>
  async (url, { method, headers, body }) => {
    const { pathname, search } = new URL(url);
    const response = await current().app.inject({
      method: method as 'GET' | 'POST' | 'DELETE',
      url: pathname + search,
      headers: headers ?? {},
      ...(body !== undefined && { payload: body }),
    });
    return { status: response.statusCode, text: () => Promise.resolve(response.body) };
  };
