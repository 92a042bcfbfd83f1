export { type ClientOptions, connect, ServiceClient, type StreamOptions } from './client.js';
export { GateConfigError, GateError, GateRefused, GateTransportError } from './errors.js';
export type { ListOf, RowOf } from './paging.js';
export type { ServerEvent } from './streams.js';
export type { AnswerOf, BodyOf, Given, OperationAt, RequestOptions, ServiceName, Services } from './types.js';
