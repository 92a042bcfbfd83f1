import type { FastifyRequest } from 'fastify';
import type { Operator } from '../../../domain/operator.js';

/** Throws for everybody who is not an operator. */
export type OperatorOf = (request: FastifyRequest) => Operator;

/** Refuses everybody else before a body is read. */
export const operatorsOnly =
  (operatorOf: OperatorOf) =>
  (request: FastifyRequest, _reply: unknown, done: () => void): void => {
    operatorOf(request);
    done();
  };
