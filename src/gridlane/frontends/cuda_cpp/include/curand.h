// Every source has its contents already, but random numbers.
#pragma once
