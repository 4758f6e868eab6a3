import { formatAddress } from '@spock/protocol/node';

import { BACKGROUND } from '../../calls/outgoing-call.ts';
import type { Session } from '../../connection/session.ts';
import { SidecarConnection } from '../../connection/sidecar-connection.ts';
import { faultChannel } from '../../foundation/diagnostics.ts';
import type { ResolvedOptions } from '../../foundation/options.ts';
import type { DownlinkPort, EventConnection, EventLine, EventLineListener } from './downlink.ts';

/** Downlinks to the sidecar of a client, each with the state machine, the back-off and the heartbeat of the client's own connection. */
export function downlinkPort(options: ResolvedOptions): DownlinkPort {
	return {
		open: (listener) => openConnection(options, listener),
		fault(message) {
			if (!faultChannel.hasSubscribers) return;
			faultChannel.publish({ address: formatAddress(options.address), kind: 'push', message });
		},
	};
}

function openConnection(options: ResolvedOptions, listener: EventLineListener): EventConnection {
	const lines = new WeakMap<Session, EventLine>();
	const connection = new SidecarConnection(options, {
		adopted(session) {
			const line = lineOf(session, options.timeoutMs);
			lines.set(session, line);
			listener.adopted(line);
		},
		lost: () => listener.lost(),
		push(session, push) {
			const line = lines.get(session);
			if (line !== undefined) listener.push(line, push);
		},
	});
	void connection.closedPromise.then(({ error }) => {
		if (error !== undefined) listener.refused(error);
	});
	connection.start();
	return connection;
}

function lineOf(session: Session, timeoutMs: number): EventLine {
	return {
		call: (func, data, resolve, reject) => session.send(func, data, BACKGROUND, timeoutMs, resolve, reject),
		notify: (func, data) => session.write(`{"func":"${func}","data":${JSON.stringify(data)}}\n`),
	};
}
