import type { EventsObserver } from '../foundation/events-observer.ts';
import type { GroupObserver } from './consumer-group.ts';

/** Reports what groups do. */
export function groupObserver(observer: EventsObserver): GroupObserver {
	return {
		delivered: ({ stream, group = null }, events, again) => {
			observer.delivered?.(stream, group, events);
			if (again > 0) observer.redelivered?.(stream, group, again);
		},
		died: ({ stream, group = null }, reason) => observer.dead?.(stream, group, reason),
	};
}
