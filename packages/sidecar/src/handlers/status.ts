import type { StatusReply } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import { type Answer, answer, type Handler } from '../connection/answer.ts';
import type { StatusView } from './status-view.ts';
import { ToldAgain } from './told-again.ts';

/** Services in a view: nobody reads more. */
const VIEW_SERVICES_MAX = 2000;
/** What a reply is longer than its payload, at most. */
const REPLY_HEAD_BYTES = 64;

/** What the sidecar knows of itself, and on demand what its status page shows. It grows with what is watched, which clients decide. */
export function statusHandler(
	status: () => StatusReply,
	clock: Pick<Clock, 'now'>,
	view?: () => StatusView,
): Handler<'status'> {
	const told = new ToldAgain<StatusReply>(clock);
	const withView = (bytesMax: number): Answer<StatusReply> => {
		const rest = { ...status(), watches: [], keyWatches: [] };
		return view === undefined ? answer(rest) : fitting(rest, view(), bytesMax);
	};
	return (data, { caller: { frameBytesMax } }) => {
		const isWide = data?.view === true && view !== undefined;
		const key = isWide ? String(frameBytesMax) : '';
		return told.find(key) ?? told.tell(key, isWide ? withView(frameBytesMax - REPLY_HEAD_BYTES) : answer(status()));
	};
}

/** With as many changes, and then services, as fit: in an outage there is most to tell, and most need to see it. */
function fitting(rest: StatusReply, whole: StatusView, bytesMax: number): Answer<StatusReply> {
	let view: StatusView = { ...whole, services: whole.services.slice(0, VIEW_SERVICES_MAX) };
	for (;;) {
		const payload = answer<StatusReply>({ ...rest, view });
		const { changes, services } = view;
		if (Buffer.byteLength(payload) <= bytesMax || changes.length + services.length === 0) return payload;
		if (changes.length > 0) view = { ...view, changes: changes.slice(changes.length - (changes.length >> 1)) };
		else view = { ...view, services: services.slice(0, services.length >> 1) };
	}
}
