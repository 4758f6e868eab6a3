import {
	type CallOptions,
	type DeregisterServiceData,
	type RegisterServiceData,
	type RegistrationListener,
	type RegistrationReply,
	type ReportServiceData,
	type ServiceRegistrar,
	SpockError,
} from '@spock/protocol';
import { formatAddress, type SocketAddress } from '@spock/protocol/node';

import type { CallTraits } from './call.ts';
import { BACKGROUND, QUESTION } from './call-traits.ts';
import { registrationChannel } from './diagnostics.ts';
import type { ResolvedOptions } from './options.ts';
import { readRegistration } from './read-registration.ts';
import { RetrySchedule, whileRefused } from './retry-schedule.ts';
import type { Session } from './session.ts';
import type { SidecarSource } from './sidecar-source.ts';

/** The way to the sidecar, now or when there is a connection. */
export type RegistrarPort = Pick<SidecarSource, 'call'>;

interface Wanted {
	data: RegisterServiceData;
	last: RegistrationReply;
	readonly listener: RegistrationListener;
}

/** Instances registered through a sidecar: made again on every new connection, with what was reported of them last. */
export class SidecarRegistrar implements ServiceRegistrar {
	readonly #port: RegistrarPort;
	readonly #timeoutMs: number;
	readonly #address: SocketAddress;
	readonly #retry: RetrySchedule;
	readonly #wanted = new Map<string, Wanted>();
	#session: Session | undefined;
	/** Sessions so far: a registration that was made on one of them is unknown to the next. */
	#sessions = 0;

	constructor(options: ResolvedOptions, port: RegistrarPort) {
		this.#port = port;
		this.#timeoutMs = options.timeoutMs;
		this.#address = options.address;
		this.#retry = new RetrySchedule(whileRefused(options), () => this.#registerAgain());
	}

	register(
		data: RegisterServiceData,
		listener: RegistrationListener,
		options: CallOptions = {},
	): Promise<RegistrationReply> {
		const sessions = this.#sessions;
		// Within the reply's own tick: what is pushed right behind it must find its registration.
		const read = (reply: unknown): RegistrationReply => {
			const last = readRegistration(reply);
			// A baseline sidecar may answer what it does not know with nothing.
			if (last === undefined) throw new SpockError('UNKNOWN_FUNC', 'this sidecar is older: it cannot register');
			const wanted = { data: { ...data, id: last.id }, last, listener };
			this.#wanted.set(last.id, wanted);
			this.#publish(last);
			// The connection changed while it was being registered: the new one may know nothing of it.
			if (this.#sessions !== sessions) this.#register(wanted);
			return last;
		};
		return this.#port.call('registerService', data, { ...QUESTION, read }, options);
	}

	report(report: ReportServiceData, options: CallOptions = {}): Promise<RegistrationReply> {
		const wanted = this.#wanted.get(report.id);
		if (wanted !== undefined) {
			const { note: _, ...data } = wanted.data;
			wanted.data = { ...data, ...report };
		}
		return this.#port.call('reportService', report, REPORTED, options) as Promise<RegistrationReply>;
	}

	deregister(which: DeregisterServiceData, options: CallOptions = {}): Promise<null> {
		// Before it is asked for: a reconnect must not register again what is not wanted any more.
		const wanted = this.#wanted.get(which.id);
		this.#wanted.delete(which.id);
		const ended = this.#port.call('deregisterService', which, QUESTION, options);
		if (wanted === undefined) return ended;
		return ended.then((reply) => {
			this.#publish({ ...wanted.last, state: 'deregistered', error: null });
			return reply;
		});
	}

	/** There is a new connection: everything is registered on it. */
	adopted(session: Session): void {
		this.#session = session;
		this.#sessions++;
		this.#registerAgain();
	}

	/** There is no connection: what is known is not sure any more. */
	lost(reason: string): void {
		this.#session = undefined;
		this.#retry.cancel();
		for (const wanted of this.#wanted.values()) this.#pending(wanted, reason);
	}

	/** A registration has changed. False for data that is none. */
	push(data: unknown): boolean {
		const reply = readRegistration(data);
		if (reply === undefined) return false;
		const wanted = this.#wanted.get(reply.id);
		if (wanted === undefined) return true;
		if (reply.state === 'deregistered' && reply.error !== null) {
			// Refused anew, by a sidecar that was restarted: what the registry took once it may take again. Only the app ends it.
			this.#pending(wanted, reply.error);
			this.#retry.schedule(undefined);
			return true;
		}
		if (reply.state === 'deregistered') this.#wanted.delete(reply.id);
		this.#tell(wanted, reply);
		return true;
	}

	/** Forgets everything; nobody is told anything after it. */
	close(): void {
		this.lost('the client was closed, and its sidecar deregisters what it held');
		this.#wanted.clear();
	}

	#registerAgain(): void {
		this.#retry.cancel();
		for (const wanted of this.#wanted.values()) this.#register(wanted);
	}

	#register(wanted: Wanted): void {
		const session = this.#session;
		if (session === undefined) return;
		const isCurrent = (): boolean => this.#session === session && this.#wanted.get(wanted.last.id) === wanted;
		session.send(
			'registerService',
			wanted.data,
			BACKGROUND,
			this.#timeoutMs,
			(data) => {
				const reply = readRegistration(data);
				if (!isCurrent() || reply === undefined) return;
				this.#retry.reset();
				this.#tell(wanted, reply);
			},
			(error) => {
				if (!isCurrent()) return;
				this.#pending(wanted, error.message);
				this.#retry.schedule(error);
			},
		);
	}

	#pending(wanted: Wanted, error: string): void {
		this.#tell(wanted, { ...wanted.last, state: 'pending', error });
	}

	#tell(wanted: Wanted, reply: RegistrationReply): void {
		wanted.last = reply;
		this.#publish(reply);
		wanted.listener(reply);
	}

	#publish(reply: RegistrationReply): void {
		if (registrationChannel.hasSubscribers) {
			registrationChannel.publish({ address: formatAddress(this.#address), ...reply });
		}
	}
}

/** A report, whose answer says how the registration is now. */
const REPORTED: CallTraits = {
	...QUESTION,
	read: (data) => {
		const reply = readRegistration(data);
		if (reply === undefined) throw new SpockError('PROTOCOL', 'the sidecar answered a report with no registration');
		return reply;
	},
};
