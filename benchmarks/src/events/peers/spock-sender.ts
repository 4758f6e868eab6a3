import { connect } from '@spock/client';
import { type Events, openEvents } from '@spock/client/events';

import { type Sender, STREAM } from './sender.ts';

/** A sidecar that was killed is back long before. */
const PATIENCE = { timeoutMs: 60_000 };

/** Events through the app's sidecar. */
export async function openSpockSender(path: string, until: 'emit' | 'persisted' | 'stored'): Promise<Sender> {
	const diplomat = await connect({ path });
	const events: Events = openEvents({ diplomat });
	let sent: Promise<void> | undefined;
	/** What was emitted so far has left this process; at the next turn of the event loop, normally. */
	const untilSent = async (): Promise<void> => {
		do await new Promise((resolve) => setImmediate(resolve));
		while (events.status().unsent > 0);
		sent = undefined;
	};
	await events.publish('opened', 0, { until: until === 'stored' ? 'stored' : 'persisted', ...PATIENCE });
	return {
		isSync: until === 'emit',
		send: (event) => {
			if (until !== 'emit') return events.publish(STREAM, event, { until, ...PATIENCE });
			const hasRoom = events.emit(STREAM, event);
			sent ??= untilSent();
			return hasRoom ? sent : Promise.all([sent, events.room(PATIENCE)]).then(() => undefined);
		},
		settle: () => events.flush({ until: until === 'stored' ? 'stored' : 'persisted', ...PATIENCE }),
		close: () => diplomat.close(),
	};
}
