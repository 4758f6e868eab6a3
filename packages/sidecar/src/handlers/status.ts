import type { StatusReply } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { StatusView } from '../admin/status-view.ts';
import { type Answer, answer, type Handler } from '../server/answer.ts';

/** A status of more characters than this, of hundreds of services, is told again as it was for so long. */
const LONG_CHARACTERS = 16_384;
const REUSED_MS = 250;
/** Services in a view: so many fit into a frame, and nobody reads more. */
const VIEW_SERVICES_MAX = 2000;

/**
 * What the sidecar knows of itself. It grows with what is watched, which clients decide: made for each of their requests, a
 * long one would let one client take all the time of the others.
 */
export function statusHandler(
	status: () => StatusReply,
	clock: Pick<Clock, 'now'>,
	view?: () => StatusView,
): Handler<'status'> {
	const plain = reusing(status, clock);
	if (view === undefined) return plain;
	const withView = reusing(() => ({ ...status(), watches: [], keyWatches: [], view: shorten(view()) }), clock);
	return (data) => (data?.view ? withView() : plain());
}

function shorten(view: StatusView): StatusView {
	return { ...view, services: view.services.slice(0, VIEW_SERVICES_MAX) };
}

function reusing(status: () => StatusReply, clock: Pick<Clock, 'now'>): () => Answer<StatusReply> {
	let told: { readonly text: Answer<StatusReply>; readonly atMs: number } | undefined;
	return () => {
		const nowMs = clock.now();
		if (told !== undefined && nowMs - told.atMs < REUSED_MS) return told.text;
		const text = answer(status());
		told = text.length > LONG_CHARACTERS ? { text, atMs: nowMs } : undefined;
		return text;
	};
}
