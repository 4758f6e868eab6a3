import type { ServerWritableStream, UntypedServiceImplementation } from '@grpc/grpc-js';
import { SpockError } from '@spock/protocol';
import type { Clock, TimerHandle } from '@spock/protocol/internal';
import { statusName, statusOf } from './grpc-status.ts';
import type { OpenStream, OpenStreams } from './open-streams.ts';
import type { UnaryCalls } from './unary.ts';

/** The service of proto/grpc/health/v1/health.proto. */
export const HEALTH = 'grpc.health.v1.Health';

/** SERVING for as long as this process answers, whatever the registry does: for a liveness probe. */
export const LIVENESS = 'liveness';

/** How often readiness is checked while it is watched: the registry's state sends no event. */
const LOOK_MS = 500;

interface Request {
	readonly service: string;
}
type ServingStatus = 'SERVING' | 'NOT_SERVING' | 'SERVICE_UNKNOWN';

/** The health of the sidecar, as its readiness says. */
export class HealthService {
	readonly #isReady: () => boolean;
	readonly #served: ReadonlySet<string>;
	readonly #clock: Clock;
	readonly #watching = new Map<OpenStream, { readonly service: string; sent: ServingStatus }>();
	#timer: TimerHandle | undefined;

	/** `served` are the services that this server has: each is as healthy as the whole. */
	constructor(isReady: () => boolean, served: readonly string[], clock: Clock) {
		this.#served = new Set(served);
		this.#isReady = isReady;
		this.#clock = clock;
	}

	/** For grpc-js. */
	implementation(calls: UnaryCalls, streams: OpenStreams): UntypedServiceImplementation {
		return {
			Check: calls.handler('Check', ({ service }: Request) => {
				const status = this.#statusOf(service);
				if (status !== 'SERVICE_UNKNOWN') return { status };
				throw new SpockError('NO_SUCH_SERVICE', `unknown service ${JSON.stringify(service.slice(0, 512))}`);
			}),
			Watch: (call: ServerWritableStream<Request, unknown>): void => {
				try {
					this.#watch(call, streams);
				} catch (thrown) {
					const status = statusOf(calls.errorOf('HealthWatch', thrown));
					calls.answered('HealthWatch', statusName(status.code));
					call.emit('error', status);
				}
			},
		};
	}

	/** Readiness may have changed: notifies the watchers. */
	look(): void {
		for (const [stream, watched] of this.#watching) {
			const status = this.#statusOf(watched.service);
			if (status === watched.sent) continue;
			watched.sent = status;
			stream.send({ status });
		}
	}

	#watch(call: ServerWritableStream<Request, unknown>, streams: OpenStreams): void {
		const { service } = call.request;
		const status = this.#statusOf(service);
		const stream: OpenStream = streams.open(call, {
			method: 'HealthWatch',
			key: '',
			ended: () => {
				this.#watching.delete(stream);
				if (this.#watching.size === 0) this.#clock.clearTimeout(this.#timer);
			},
		});
		this.#watching.set(stream, { service, sent: status });
		stream.send({ status });
		if (this.#watching.size === 1) this.#arm();
	}

	#arm(): void {
		this.#timer = this.#clock.setTimeout(() => {
			this.look();
			if (this.#watching.size > 0) this.#arm();
		}, LOOK_MS);
		this.#timer.unref?.();
	}

	#statusOf(service: string): ServingStatus {
		if (service === LIVENESS) return 'SERVING';
		if (service !== '' && !this.#served.has(service)) return 'SERVICE_UNKNOWN';
		return this.#isReady() ? 'SERVING' : 'NOT_SERVING';
	}
}
