import { z } from 'zod';

const standing = z.strictObject({ ok: z.boolean(), words: z.string() });

/** How what runs calls for the proxy stands, in words for people of every tenant: without addresses. */
export const proxyStanding = z.strictObject({
  worker: standing,
  /** `null` where there is one upstream: nothing is known of it before a call. `partly`: some fail, and not all of them. */
  upstreams: standing.extend({ partly: z.boolean().optional() }).nullable(),
});
export type ProxyStanding = z.infer<typeof proxyStanding>;
