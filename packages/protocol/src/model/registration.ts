/** The health that an app may report. `warning` still gets work; `critical` does not. */
export type ReportedStatus = 'passing' | 'warning' | 'critical';

/** What keeps a registration: the connection that made it, or the sidecar, until it is deregistered. */
export type RegistrationBind = 'connection' | 'sidecar';

/** Shares of the work, relative to those of the other instances. */
export interface RegistrationWeights {
	/** While passing: 1 to 65535. Default 1. */
	readonly passing?: number;
	/** While warning: 0 to 65535. Default 1. */
	readonly warning?: number;
}

/** Another address of the same instance: on another network, or of another family. */
export interface TaggedAddress {
	readonly host: string;
	/** Default: the instance's own port. */
	readonly port?: number;
}

/** A check by the registry itself, beside the sidecar's own: `http` or `tcp`, not both. */
export interface RegistrationCheck {
	/** A URL that is asked by GET: 2xx is passing, 429 is warning, anything else is critical. */
	readonly http?: string;
	/** `host:port` that must accept a connection. */
	readonly tcp?: string;
	/** From one check to the next, in milliseconds, 1000 to 3600000. Default 10000. */
	readonly intervalMs?: number;
	/** How long one check may take, in milliseconds, 100 to 600000. Default 5000. */
	readonly timeoutMs?: number;
}

/** What an app registers: one instance of a service, itself. */
export interface RegisterServiceData {
	/** The service's name, 1 to 512 characters. */
	readonly service: string;
	/**
	 * Identifies the instance at the registry's agent; registering the same id again replaces the registration. At most 256 of
	 * the characters A-Z a-z 0-9 _ . : @ ~ + - of which the first is a letter, a digit or _. Default: made of service,
	 * machine and port, so that it is the same after a restart.
	 */
	readonly id?: string;
	/** An IP address or a DNS name. Default: the sidecar's `--advertise`, else the address of the registry's agent. */
	readonly host?: string;
	/** 1 to 65535. */
	readonly port: number;
	/** At most 32. */
	readonly tags?: readonly string[];
	/** At most 60; names of 1 to 128 letters, digits, _ and -, values of at most 512 characters. `spock-` and `consul-` are reserved. */
	readonly meta?: Readonly<Record<string, string>>;
	readonly weights?: RegistrationWeights;
	/** By tag (`lan_ipv4`, `wan_ipv6`, a name of your own); at most 16. */
	readonly taggedAddresses?: Readonly<Record<string, TaggedAddress>>;
	/** Default: none; the sidecar's own check shows whether the app is alive. */
	readonly check?: RegistrationCheck;
	/** Default `connection`. */
	readonly bind?: RegistrationBind;
	/** The health it starts with. Default `passing`. */
	readonly status?: ReportedStatus;
	/** Why, for people; at most 1024 characters. */
	readonly note?: string;
	/**
	 * For a sidecar that registers for its apps: for which of them, 1 to 512 printable characters. It counts below the app of the
	 * caller's own token, as `node/till`: a caller can act for no other app.
	 */
	readonly app?: string;
}

/** The app's report of its health. */
export interface ReportServiceData {
	readonly id: string;
	readonly status: ReportedStatus;
	/** Why, for people; at most 1024 characters. Default: none. */
	readonly note?: string;
	/** As it was registered. */
	readonly app?: string;
}

/** The registration to end. */
export interface DeregisterServiceData {
	readonly id: string;
	/** As it was registered. */
	readonly app?: string;
}

/**
 * `registered`: the registry knows the instance and its last report. `pending`: it does not, or not any more; the sidecar retries by
 * itself, and `error` says why. `deregistered`: the registration has ended.
 */
export type RegistrationState = 'registered' | 'pending' | 'deregistered';

/** The state of a registration: the answer to registering and reporting, and the push when it changes. */
export interface RegistrationReply {
	readonly id: string;
	readonly service: string;
	/** Its name in snapshots; null until the registry has returned it. */
	readonly instance: string | null;
	readonly state: RegistrationState;
	/** Why it is `pending`, or why the registry refused one that is `deregistered`; else null. */
	readonly error: string | null;
}
