import type { ComponentChildren } from 'preact';
import { GateError } from '../../../domain/errors.js';
import { type Settled, settled } from '../../services.js';
import { OrAway } from '../../ui/parts.js';

/** What identity said, or that it is away, or that it does not know who asks. */
export type OfIdentity<Value> = Settled<Value> | 'nobody';

/** Lets a page go on where identity is away, or takes nothing that proves the person, as with a passkey of the review service. */
export async function ofIdentity<Value>(asked: Promise<Value>): Promise<OfIdentity<Value>> {
  try {
    return await settled('identity', asked);
  } catch (error) {
    if (error instanceof GateError && error.status === 401) return 'nobody';
    throw error;
  }
}

/** What is made of it; otherwise why there is nothing. */
export const OrUnknown = <Value,>({
  of,
  children,
}: {
  readonly of: OfIdentity<Value>;
  readonly children: (value: Value) => ComponentChildren;
}) =>
  of === 'nobody' ? (
    <p class="dim">
      The identity service does not say this here: it knows operators by token, and people for whom the console vouches
      (<code>GATE_HIL_DECIDE_TOKEN</code>, the same at both), not those who sign in by a passkey.
    </p>
  ) : (
    <OrAway of={of}>{children}</OrAway>
  );
