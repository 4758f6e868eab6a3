import { encodePayload, encodePush, fitsFrame, type RegistrationReply } from '@spock/protocol';

/** So many characters of an error fit into the shortest frame, beside names of an ordinary length. */
const ERROR_LENGTH_MAX = 64;

/**
 * The line that tells a change of a registration, with fewer words about its error where they do not fit. Undefined if even
 * then it is longer than a frame: the client was told the same of its own request for it.
 */
export function registrationPush(registration: RegistrationReply, frameBytesMax: number): string | undefined {
	const line = encodePush('registration', encodePayload(registration));
	if (fitsFrame(line, frameBytesMax)) return line;
	const error = registration.error?.slice(0, ERROR_LENGTH_MAX) ?? null;
	const shorter = encodePush('registration', encodePayload({ ...registration, error }));
	return fitsFrame(shorter, frameBytesMax) ? shorter : undefined;
}
