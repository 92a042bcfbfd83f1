import { z } from 'zod';

/** RFC 8693 2.1: the one grant type of `POST /token`. */
export const TOKEN_EXCHANGE = 'urn:ietf:params:oauth:grant-type:token-exchange';
/** RFC 8693 3: what is exchanged, and what comes of it. */
export const ID_TOKEN_TYPE = 'urn:ietf:params:oauth:token-type:id_token';
export const JWT_TYPE = 'urn:ietf:params:oauth:token-type:jwt';
/** Requests of one agent in a minute, those that are refused included. */
export const MOST_EXCHANGES_A_MINUTE = 60;

/** Answer of `POST /token` (RFC 8693 2.2.1). A grant is no access token: it is sent in `X-Gate-Grant`, by the certificate that it is bound to. */
export const exchangedToken = z.strictObject({
  access_token: z.string(),
  issued_token_type: z.literal(JWT_TYPE),
  token_type: z.literal('N_A'),
  expires_in: z.number().int(),
  scope: z.string(),
});
export type ExchangedToken = z.infer<typeof exchangedToken>;
