import { answer, type Handler } from '../connection/answer.ts';

/** Gives the value back. */
export const pingHandler: Handler<'ping'> = (data) => answer(data);
