import { answer, type Handler } from '../connection/answer.ts';

/** No more pushes of this query. */
export const unwatchServiceHandler: Handler<'unwatchService'> = (data, { caller }) => {
	caller.unsubscribe(data);
	return answer(null);
};
