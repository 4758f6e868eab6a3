import type { StatusReply } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';

import type { StatusView } from '../admin/status-view.ts';
import { answer, type Handler } from '../server/answer.ts';
import { ToldAgain } from './told-again.ts';

/** Services in a view: so many fit into a frame, and nobody reads more. */
const VIEW_SERVICES_MAX = 2000;

/** What the sidecar knows of itself, and on demand what its status page shows. It grows with what is watched, which clients decide. */
export function statusHandler(
	status: () => StatusReply,
	clock: Pick<Clock, 'now'>,
	view?: () => StatusView,
): Handler<'status'> {
	const told = new ToldAgain<StatusReply>(clock);
	const plain = (): StatusReply => status();
	const withView = (): StatusReply => ({
		...status(),
		watches: [],
		keyWatches: [],
		...(view && { view: shorten(view()) }),
	});
	return (data) => {
		const isWide = data?.view === true && view !== undefined;
		const key = isWide ? 'view' : '';
		return told.find(key) ?? told.tell(key, answer(isWide ? withView() : plain()));
	};
}

function shorten(view: StatusView): StatusView {
	return { ...view, services: view.services.slice(0, VIEW_SERVICES_MAX) };
}
