import { z } from 'zod';
import { pendingRequest } from '../../../contracts/review.js';

export const ById = z.object({ id: z.uuid() });
export const ByCorrelation = z.object({ correlation_id: z.uuid() });

/** An object that a JSON parser made: walking a megabyte of it again would hold up every other request. */
export const parsedObject = z.record(z.string(), z.unknown());

/** A row as it leaves the store. */
export const PendingRow = pendingRequest.extend({ request_payload: parsedObject, retention: parsedObject });
