import type { JsonObject } from '../../contracts/json.js';
import { canonicalJson, sha256Hex } from '../crypto/digest.js';

/** What records and rows commit to of a request's parameters: SHA-256 of the canonical `params`, 64 hex digits. */
export const paramsSha256 = ({ params }: JsonObject): string => sha256Hex(canonicalJson(params ?? {}));
