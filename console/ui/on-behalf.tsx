import type { Delegation } from '../../contracts/call-grant.js';
import { Foreign, Id } from './parts.js';

/** On whose behalf an agent asks, what that covers, and until when: by a grant of identity, which was verified. */
export function OnBehalf({ of }: { readonly of: Delegation }) {
  const within = [...of.scope, ...of.yellow_scope];
  const bounds = [
    ...(of.max_uses === null ? [] : [`${of.max_uses} ${of.max_uses === 1 ? 'use' : 'uses'}`]),
    ...(of.recurrence_summary === null ? [] : [of.recurrence_summary]),
    ...(of.not_before === null ? [] : [`from ${of.not_before}`]),
    `until ${of.not_after}`,
  ];
  return (
    <>
      <Foreign text={of.human_sub} /> (by <Foreign text={of.idp} />
      ), for <Foreign text={within.join(', ')} />; {bounds.join(', ')}; grant <Id id={of.jti} />
    </>
  );
}
