import { z } from 'zod';
import { delivery } from '../../../contracts/notification.js';
import { pendingRequest } from '../../../contracts/review.js';

export const ById = z.object({ id: z.uuid() });
export const ByCorrelation = z.object({ correlation_id: z.uuid() });

/** Any object from the JSON parser. Checking a megabyte of it again would block every other request. */
export const parsedObject = z.record(z.string(), z.unknown());

/** A row as the store returns it. */
export const PendingRow = pendingRequest.extend({ request_payload: parsedObject, retention: parsedObject });

/** The row by itself, with what people were told of it. */
export const PendingDetail = PendingRow.extend({ notifications: z.array(delivery) });
