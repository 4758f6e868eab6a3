import type { Clock } from '@spock/protocol/internal';
import { createSidecar, type LimitName, type Sidecar, type SidecarLimits } from '@spock/sidecar';
import { type TempSocket, tempSocket } from '@spock/testkit';

import { GrpcFront } from '../../src/grpc/grpc-front.ts';
import { AcceptedTokens, type TokenCheck } from '../../src/listen/tokens.ts';
import { FakeSource } from '../fake-source.ts';

/** A sidecar with a gRPC front over a source whose answers the test gives. */
export interface RunningFront extends AsyncDisposable {
	readonly place: TempSocket;
	/** As clients of gRPC write them. */
	readonly unix: string;
	readonly path: string;
	readonly tcp: string;
	readonly source: FakeSource;
	readonly sidecar: Sidecar;
	/** Calls that have ended: method and code. */
	readonly answered: string[];
	readonly faults: unknown[];
	/** The limits that clients ran into. */
	readonly limited: LimitName[];
}

/** Starts one. Disposing it ends it at once. `token`, or one of `tokens`: the port wants it. */
export async function runFront({
	clock,
	token,
	tokens = token === undefined ? undefined : new AcceptedTokens([token]),
	...limits
}: SidecarLimits & {
	readonly clock?: Clock;
	readonly token?: string;
	readonly tokens?: TokenCheck | undefined;
} = {}): Promise<RunningFront> {
	const place = await tempSocket();
	const source = new FakeSource();
	source.publish('barista', ['1.2.3.4']);
	const path = `${place.directory}/grpc.sock`;
	const answered: string[] = [];
	const faults: unknown[] = [];
	const limited: LimitName[] = [];
	const sidecar = createSidecar({
		source,
		listen: [{ address: { path: place.path } }],
		front: {
			listen: [{ address: { path } }, { address: { host: '127.0.0.1', port: 0 }, ...(tokens && { tokens }) }],
			create: (context) => new GrpcFront(context),
		},
		limits: { graceMs: 0, ...limits },
		observer: {
			grpcAnswered: (method, code) => answered.push(`${method} ${code}`),
			fault: (_func, cause) => faults.push(cause),
			limited: (limit) => void limited.push(limit),
		},
		...(clock && { clock }),
	});
	await sidecar.start();
	const [, tcp = ''] = sidecar.frontAddresses;
	return {
		place,
		unix: `unix:${path}`,
		path,
		tcp,
		source,
		sidecar,
		answered,
		faults,
		limited,
		[Symbol.asyncDispose]: async () => {
			sidecar.terminate();
			sidecar.terminate();
			await sidecar.ended;
			await place[Symbol.asyncDispose]();
		},
	};
}
