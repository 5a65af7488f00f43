// Authenticated modes and MACs made of a cipher below and work of the processor, for engines that lack them (SEC 2.x
// has CTR and CBC but no GCM unit mode, for instance), as the kernel's templates do it:
//
//   gcm(aes)            over ctr(aes)   one CTR request over a zero block and the text; GHASH on the processor
//   rfc4106(gcm(aes))   the same, with a salt of 4 bytes behind the key and an IV of 8
//   ccm(aes)            over ctr(aes)   one CTR request over a zero block and the text; CBC-MAC on the processor
//   rfc4309(ccm(aes))   the same, with a salt of 3 bytes behind the key and an IV of 8
//   cmac(aes), xcbc(aes)  over cbc(aes)   the message, copied, through CBC; the last block is the MAC
//
// Drivers are named "gcm(ctr-aes-talitos)" and so on; info().composed says which part runs where. Priority is 1000 below
// the cipher's, so a real implementation of the engine is preferred to the composition, and that to the processor's.
//
// The zero block in front of the text comes out as E(J0) or S0, the mask of the tag: no second request is needed.
// The AAD and the tag never go to the engine.
//
// The asynchronous contract is that of the cipher below: what it accepts they accept, with the same Busy, and its
// callback(InProgress) is passed on. A transform may be freed while its requests are in flight.
// rfc4106 and rfc4309 take the IV as the last 8 bytes of the AAD as well, as the kernel's callers put it there; it is
// not authenticated twice. AAD of 16 or 20 bytes, else Invalid.
#pragma once
#include "host/compose/compose.h"

namespace sec::host {

/// Adds the six over everything suitable of options.module that is registered and did not fail its self-test; an
/// algorithm which that module has itself is left out. Returns how many. The registry must outlive the transforms'
/// creation.
unsigned register_aead_compositions(crypto::Registry& registry, const CompositionOptions& options = {});

}  // namespace sec::host
