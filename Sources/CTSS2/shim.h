// What of tpm2-tss Swift can't import by itself: error codes that are sums within a cast.

#ifndef KEYCHAIN_CTSS2_SHIM_H
#define KEYCHAIN_CTSS2_SHIM_H

#include <tss2/tss2_esys.h>
#include <tss2/tss2_mu.h>
#include <tss2/tss2_rc.h>
#include <tss2/tss2_tctildr.h>

#endif
