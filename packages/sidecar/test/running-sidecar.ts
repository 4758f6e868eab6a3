import type { ClientStatus } from '@spock/protocol';
import type { Clock } from '@spock/protocol/internal';
import {
	type CloseReason,
	createSidecar,
	type LimitName,
	type Sidecar,
	type SidecarLimits,
	type TracedRequest,
} from '@spock/sidecar';
import { FakeClock, type TempSocket, tempSocket } from '@spock/testkit';

import { FakeSource } from './fake-source.ts';
import { RawClient } from './raw-client.ts';

/** A sidecar over a source whose answers the test gives, and what its observer was told. */
export interface Running extends AsyncDisposable {
	readonly place: TempSocket;
	readonly source: FakeSource;
	readonly sidecar: Sidecar;
	readonly reasons: CloseReason[];
	readonly faults: unknown[];
	readonly superseded: number[];
	readonly limited: LimitName[];
	readonly traced: TracedRequest[];
	readonly notLeft: { readonly clients: readonly ClientStatus[]; readonly count: number; readonly how: string }[];
	open(): Promise<RawClient>;
}

/** Starts one. Disposing it ends it at once. */
export async function run(limits: SidecarLimits = {}, clock?: Clock): Promise<Running> {
	const place = await tempSocket();
	const source = new FakeSource();
	source.publish('barista', ['1.2.3.4']);
	const reasons: CloseReason[] = [];
	const faults: unknown[] = [];
	const superseded: number[] = [];
	const limited: LimitName[] = [];
	const traced: TracedRequest[] = [];
	const notLeft: Running['notLeft'][number][] = [];
	const sidecar = createSidecar({
		source,
		listen: [{ address: { path: place.path } }],
		limits: { graceMs: 0, ...limits },
		observer: {
			connectionClosed: (_id, reason) => reasons.push(reason),
			limited: (limit) => limited.push(limit),
			fault: (_func, cause) => faults.push(cause),
			notLeft: (clients, count, how) => notLeft.push({ clients, count, how }),
			traced: (request) => traced.push(request),
			pushed: (kind) => {
				if (kind === 'superseded') superseded.push(1);
			},
		},
		...(clock && { clock }),
	});
	await sidecar.start();
	return {
		place,
		source,
		sidecar,
		reasons,
		faults,
		superseded,
		limited,
		traced,
		notLeft,
		open: () => RawClient.open(place.path),
		[Symbol.asyncDispose]: async () => {
			sidecar.terminate();
			sidecar.terminate();
			if (clock instanceof FakeClock) await clock.advance(60_000);
			await sidecar.ended;
			await place[Symbol.asyncDispose]();
		},
	};
}
