import { answer, type Handler } from '../server/answer.ts';

/** Gives the value back. */
export const pingHandler: Handler<'ping'> = (data) => answer(data);
