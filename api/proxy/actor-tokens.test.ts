import { beforeAll, describe, expect, it } from '@jest/globals';
import { actorTokenClaims, type ActorTokenRedemption, type RedeemedActorToken } from '../../contracts/actor-tokens.js';
import { GateError } from '../../domain/errors.js';
import { actorClaims, newSigner, PEER, PEER_AGENT, signedActor } from '../../test/support/actor-token.js';
import { createActorRedeemer } from './actor-tokens.js';

describe('a token of another Gate', () => {
  const asked: ActorTokenRedemption[] = [];
  const redeemer = (answer: () => Promise<RedeemedActorToken>) =>
    createActorRedeemer({
      identity: async () => ({
        redeemActorToken(redemption) {
          asked.push(redemption);
          return answer();
        },
      }),
      trustDomain: 'gate.local',
    });
  const call = { caller: { tenant: 'acme', agent: 'partner-gate' }, tools: ['Read', 'write', 'Read'] };
  const claims = actorClaims(Date.now(), { scope: ['tool:anything'] });
  let token: string;
  beforeAll(async () => {
    token = await signedActor(newSigner(), claims);
  });

  it('is compared with what the call is, and with who makes it, not with what it says itself', async () => {
    const { iss, sub, aud, jti, exp } = actorTokenClaims.parse(claims);
    const redeem = redeemer(() => Promise.resolve({ iss, sub, aud, scope: ['tool:Read', 'tool:write'], jti, exp }));
    expect(await redeem(token, call)).toEqual({ iss, sub, jti });
    expect(asked).toEqual([
      {
        token,
        expected: {
          issuer: `spiffe://${PEER}`,
          subject: PEER_AGENT,
          audience: 'spiffe://gate.local',
          scope: ['tool:Read', 'tool:write'],
          tenant: 'theirs',
        },
        shown_by: { tenant: 'acme', agent_name: 'partner-gate' },
      },
    ]);
  });

  it('that identity refuses is refused with its code, and the name of a Gate that is not known', async () => {
    const refusal = new GateError('peer_bundle_stale', 'too old', { fields: { trust_domain: PEER, more: 1 } });
    await expect(redeemer(() => Promise.reject(refusal))(token, call)).rejects.toMatchObject({
      code: 'a2a_redeem_failed',
      message: 'peer_bundle_stale: too old',
      fields: { redeem_error: 'peer_bundle_stale', trust_domain: PEER },
    });
  });

  it('that is malformed is refused before identity is asked', async () => {
    asked.length = 0;
    await expect(redeemer(() => Promise.reject(new Error('asked')))('a.b.c', call)).rejects.toMatchObject({
      code: 'a2a_redeem_failed',
      fields: { redeem_error: 'malformed_token' },
    });
    expect(asked).toEqual([]);
  });

  it.each([
    ['does not answer', new GateError('control_state_unavailable')],
    ['cannot say', new GateError('replay_store_unavailable')],
    ['fails', new Error('a fault')],
  ])('counts for nothing where identity %s', async (_what, error) => {
    await expect(redeemer(() => Promise.reject(error))(token, call)).rejects.toMatchObject({ code: 'a2a_unavailable' });
  });
});
