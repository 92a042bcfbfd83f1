import { z } from 'zod';
import { inspectionResponse } from '../../contracts/inspection.js';
import { errorText, GateError } from '../../domain/errors.js';
import type { Inspector } from '../../domain/inspection/port.js';

/** As much of `fetch` as this client uses; the caller's own carries the client certificate. */
export type BrainFetch = (
  url: string,
  init: { method: 'POST'; headers: Record<string, string>; body: string; signal: AbortSignal },
) => Promise<{ readonly status: number; json(): Promise<unknown> }>;

export interface BrainClientOptions {
  /** Base address of Brain. */
  readonly url: string;
  readonly fetch: BrainFetch;
  readonly timeoutMs?: number;
}

const refusal = z.object({ error: z.string(), reason: z.string().optional() });

/**
 * Brain behind HTTP. Rejects with `invalid_request` when Brain says so, and with `provider_unavailable` when no verdict can be had: no
 * answer, another status, or an answer that is no inspection. Inspecting changes nothing; asking again is safe.
 */
export function createBrainClient({ url, fetch, timeoutMs = 2_000 }: BrainClientOptions): Inspector {
  const target = new URL('/inspect', url).href;
  return {
    async inspect(request) {
      const { status, body } = await ask(JSON.stringify(request), request.correlation_id ?? null);
      if (status === 200) {
        const verdict = inspectionResponse.safeParse(body);
        if (verdict.success) return verdict.data;
        throw new GateError('provider_unavailable', 'Brain answered with something that is no inspection', {
          cause: verdict.error,
        });
      }
      const said = refusal.safeParse(body).data;
      if (status === 400) throw new GateError('invalid_request', said?.reason);
      throw new GateError(
        'provider_unavailable',
        `Brain answered ${status}${said ? ` ${said.error}: ${said.reason ?? ''}` : ''}`,
      );
    },
  };

  async function ask(body: string, correlationId: string | null): Promise<{ status: number; body: unknown }> {
    try {
      const response = await fetch(target, {
        method: 'POST',
        headers: {
          'content-type': 'application/json',
          ...(correlationId !== null && { 'x-gate-correlation-id': correlationId }),
        },
        body,
        signal: AbortSignal.timeout(timeoutMs),
      });
      return { status: response.status, body: await response.json() };
    } catch (error) {
      throw new GateError('provider_unavailable', `Brain cannot be reached: ${errorText(error)}`, { cause: error });
    }
  }
}
